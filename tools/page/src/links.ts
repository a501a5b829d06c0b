/** The pages beside this one; src/hwprices/read/report/pages.py names their files the same way. */

export function acceleratorPage(id: string): string {
  return `accelerators/${fileName(id)}.html`;
}

export function machinePage(provider: string, type: string): string {
  return `machines/${fileName(provider)}/${fileName(type)}.html`;
}

/** Letters, digits and . _ - stay; any other character is written as its code, as in ~2f. */
function fileName(name: string): string {
  return Array.from(new TextEncoder().encode(name), (byte) => {
    const character = String.fromCharCode(byte);
    return /[A-Za-z0-9._-]/.test(character) ? character : `~${byte.toString(16).padStart(2, "0")}`;
  }).join("");
}
