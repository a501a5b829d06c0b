/** Opens the packed figures; src/hwprices/read/report/payload.py packs them and says how. */

export type Value = string | number;
export type Codes = Uint8Array | Uint16Array | Uint32Array;

/** A column: its values, each once in ascending order, and per row the value's number, 0 for none. */
export class Column {
  constructor(
    readonly name: string,
    readonly values: readonly Value[],
    readonly codes: Codes,
  ) {}

  at(row: number): Value | null {
    const code = this.codes[row]!;
    return code === 0 ? null : this.values[code - 1]!;
  }

  text(row: number): string {
    const value = this.at(row);
    return value === null ? "" : String(value);
  }

  number(row: number): number | null {
    const value = this.at(row);
    return typeof value === "number" ? value : null;
  }

  /** The code of a value, or 0 where no row has it. */
  code(value: Value): number {
    return this.values.indexOf(value) + 1;
  }
}

export class Table {
  constructor(
    readonly rows: number,
    private readonly columns: Map<string, Column>,
  ) {}

  has(name: string): boolean {
    return this.columns.has(name);
  }

  /** The texts of a row in these columns. */
  texts(row: number, ...names: string[]): string[] {
    return names.map((name) => this.column(name).text(row));
  }

  /** The rows in which these columns have these values. */
  where(values: Record<string, string>): number[] {
    const tests = Object.entries(values).map(([name, value]) => [this.column(name).codes, this.column(name).code(value)] as const);
    const rows: number[] = [];
    if (tests.some(([, code]) => code === 0)) return rows;
    for (let row = 0; row < this.rows; row++) if (tests.every(([codes, code]) => codes[row] === code)) rows.push(row);
    return rows;
  }

  /** The column of this name; one without any value where the release has none. */
  column(name: string): Column {
    let column = this.columns.get(name);
    if (!column) {
      column = new Column(name, [], new Uint8Array(this.rows));
      this.columns.set(name, column);
    }
    return column;
  }
}

interface PackedColumn {
  values: Value[];
  width: 1 | 2 | 4;
  offset: number;
}

interface Header {
  facts: unknown;
  tables: Record<string, { rows: number; columns: Record<string, PackedColumn> }>;
}

const CODE_ARRAYS = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array } as const;

function unzipped(base64: string): Response {
  const bytes = Uint8Array.from(atob(base64.trim()), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
}

/** The text that compressed_json of payload.py packed. */
export function unzip(base64: string): Promise<string> {
  return unzipped(base64).text();
}

export async function unpack(base64: string): Promise<{ facts: unknown; tables: Map<string, Table> }> {
  const buffer = await unzipped(base64).arrayBuffer();
  const headerLength = new DataView(buffer).getUint32(0, true);
  const start = 4 + headerLength;
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, headerLength))) as Header;
  const tables = new Map<string, Table>();
  for (const [name, table] of Object.entries(header.tables)) {
    const columns = new Map<string, Column>();
    for (const [columnName, packed] of Object.entries(table.columns)) {
      const codes = new CODE_ARRAYS[packed.width](buffer, start + packed.offset, table.rows);
      columns.set(columnName, new Column(columnName, packed.values, codes));
    }
    tables.set(name, new Table(table.rows, columns));
  }
  return { facts: header.facts, tables };
}
