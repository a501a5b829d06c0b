/** The pages beside this one; src/hwprices/read/report/pages.py names their files the same way. */

export function acceleratorPage(id: string): string {
  return `accelerators/${fileName(id)}.html`;
}

export function machinePage(provider: string, type: string): string {
  return `machine.html#${encodeURIComponent(provider)}/${encodeURIComponent(type)}`;
}

const SHARDS = 2;

/** The file with the figures of a machine type. */
export function machineShard(provider: string, type: string): string {
  const sum = new TextEncoder().encode(type).reduce((total, byte) => total + byte, 0);
  return `machines/${fileName(provider)}-${sum % SHARDS}.js`;
}

const LONGEST = 200;

/** Letters, digits, _ - and a dot inside stay; any other byte is written as its code, as in ~2f. */
function fileName(name: string): string {
  const bytes = Array.from(new TextEncoder().encode(name), (byte, position) => {
    const character = String.fromCharCode(byte);
    const stays = /[A-Za-z0-9_-]/.test(character) || (character === "." && position > 0);
    return stays ? character : `~${byte.toString(16).padStart(2, "0")}`;
  });
  return bytes.join("").slice(0, LONGEST);
}
