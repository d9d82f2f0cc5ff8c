/** Writes responses of receivers: well-formed ones, strange ones, and ones with a few bytes changed. */
export class ResponseGenerator {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** Latin-1 text, one character for each byte. */
  response(): string {
    const informational = this.#oneIn(12) ? this.#head(this.#pick(INFORMATIONAL), this.#fields(), EOL) : '';
    const eol = this.#oneIn(25) ? this.#pick(['\n', '\r', '\r\r\n', '\n\r']) : EOL;
    const [framing, body] = this.#body();
    const fields = this.#shuffle([...this.#fields(), ...framing]);
    let text = `${informational}${this.#head(this.#statusLine(), fields, eol)}${body}`;
    if (this.#oneIn(8)) text += this.#pick(SURPLUS);
    for (let changes = this.#oneIn(3) ? this.below(3) + 1 : 0; changes > 0; changes--) text = this.#change(text);
    return text;
  }

  /** Cuts the bytes into parts of random lengths. */
  parts(bytes: Buffer): Buffer[] {
    const parts: Buffer[] = [];
    for (let at = 0; at < bytes.length; ) {
      const length = this.#oneIn(3) ? 1 + this.below(3) : 1 + this.below(80);
      parts.push(bytes.subarray(at, at + length));
      at += length;
    }
    return parts;
  }

  /** Mulberry32. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  #oneIn(count: number): boolean {
    return this.below(count) === 0;
  }

  #pick<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[this.below(items.length)] ?? items[0];
  }

  #shuffle(lines: string[]): string[] {
    for (let at = lines.length - 1; at > 0; at--) {
      const other = this.below(at + 1);
      [lines[at], lines[other]] = [lines[other] ?? '', lines[at] ?? ''];
    }
    return lines;
  }

  #head(statusLine: string, fields: readonly string[], eol: string): string {
    return [statusLine, ...fields, '', ''].join(eol);
  }

  #statusLine(): string {
    const status = this.#oneIn(6) ? this.#pick(STRANGE_STATUSES) : this.#pick(STATUSES);
    if (this.#oneIn(15)) return this.#pick(STRANGE_STATUS_LINES).replace('#', status);
    return `HTTP/1.1 ${status}${this.#pick([' OK', ' OK', ' Some Reason', ' ', ''])}`;
  }

  #fields(): string[] {
    const fields = Array.from({ length: this.below(4) }, () => this.#pick(FIELDS));
    if (this.#oneIn(6)) fields.push(this.#pick(STRANGE_FIELDS));
    if (this.#oneIn(1_000)) fields.push(`x-long: ${'a'.repeat(16_000 + this.below(1_000))}`);
    return fields;
  }

  /** The fields that say how the body ends, and the body. */
  #body(): [fields: string[], body: string] {
    const text = this.#oneIn(200) ? 'long'.repeat(4_000 + this.below(500)) : this.#pick(TEXTS);
    const length = `content-length: ${text.length}`;
    switch (this.below(8)) {
      case 0:
        return [[], text];
      case 1:
        return [[], ''];
      case 2:
        return [[this.#pick(STRANGE_FRAMING)], text];
      case 3:
        return [[length, this.#pick(STRANGE_FRAMING)], text];
      case 4:
      case 5:
        return [['transfer-encoding: chunked'], this.#chunks(text)];
      default:
        return [[length], text];
    }
  }

  #chunks(text: string): string {
    let chunks = '';
    for (let at = 0; at < text.length; ) {
      const size = 1 + this.below(Math.max(1, text.length));
      const data = text.slice(at, at + size);
      const extension = this.#oneIn(8) ? this.#pick(EXTENSIONS) : '';
      const eol = this.#oneIn(40) ? this.#pick(['\n', '\r', '']) : EOL;
      chunks += `${data.length.toString(16)}${extension}${EOL}${data}${eol}`;
      at += size;
    }
    const trailers = this.#oneIn(5) ? `${this.#pick(TRAILERS)}${EOL}` : '';
    return `${chunks}${this.#pick(['0', '0', '00', '0;last'])}${EOL}${trailers}${EOL}`;
  }

  #change(text: string): string {
    const at = this.below(text.length + 1);
    const strange = this.#pick(STRANGE_CHARACTERS);
    switch (this.below(5)) {
      case 0:
        return text.slice(0, at);
      case 1:
        return text.slice(0, at) + strange + text.slice(at);
      case 2:
        return text.slice(0, at) + strange + text.slice(at + 1);
      case 3:
        return text.slice(0, at) + text.slice(at + 1 + this.below(4));
      default:
        return text.slice(0, at) + text.slice(Math.max(0, at - this.below(20)));
    }
  }
}

type Choice = readonly [string, ...string[]];

const EOL = '\r\n';
const STATUSES: Choice = ['200', '200', '200', '201', '202', '204', '301', '304', '400', '410', '429', '500', '503'];
const STRANGE_STATUSES: Choice = ['204', '304', '099', '000', '999', '101', '100', '103', '199', '20', '2000', '2x0'];
const INFORMATIONAL: Choice = [
  'HTTP/1.1 100 Continue',
  'HTTP/1.1 102',
  'HTTP/1.1 103 Early Hints',
  'HTTP/1.1 150 Odd',
  'HTTP/1.0 100 Continue',
];
const STRANGE_STATUS_LINES: Choice = [
  'HTTP/1.0 # OK',
  'HTTP/0.9 # OK',
  'HTTP/2.0 # OK',
  'HTTP/1.2 # OK',
  'HTTP/1.10 # OK',
  'http/1.1 # OK',
  'HTTP/1.1  # OK',
  'HTTP/1.1\t# OK',
  'HTTP /1.1 # OK',
  ' HTTP/1.1 # OK',
  '\r\nHTTP/1.1 # OK',
  'HTTP/1.1 #\tOK',
  'HTTP/1.1 # O\x01K',
  'HTTP/1.1 # caf\xe9',
  'HTTP/1.1 # O\rK',
  'ICE/1.1 # OK',
];
const FIELDS: Choice = [
  'Date: Mon, 01 Jan 2029 00:00:00 GMT',
  'server: nginx',
  'content-type: text/plain; charset=utf-8',
  'Retry-After: 120',
  'connection: keep-alive',
  'Keep-Alive: timeout=5',
  'x-empty:',
  'x-high: \xe9\xff\xa0',
  "x!#$%&'*+.^_`|~-: y",
];
const STRANGE_FIELDS: Choice = [
  'connection: close',
  'Connection: Keep-Alive, Close',
  'connection: closed',
  'connection: close-ish',
  'proxy-connection: close',
  'connection: upgrade',
  'upgrade: h2c',
  'x : y',
  'x\t: y',
  'x y: z',
  ' x: y',
  '\tfolded',
  'x: a\rb',
  'x: a\nb',
  'x: a\0b',
  'x: a\x7fb',
  'x: a\x0bb',
  ': nameless',
  'no colon',
  'x\xe9: y',
  'x(y): z',
];
const STRANGE_FRAMING: Choice = [
  'content-length: 2',
  'content-length: 0',
  'content-length:\t5 ',
  'content-length: 5\t',
  'content-length: 2, 2',
  'content-length: 5 5',
  'content-length: +5',
  'content-length: -5',
  'content-length: 0x5',
  'content-length:',
  'content-length: \xa05',
  'content-length : 5',
  'content-length: 00000000000000000005',
  'content-length: 99999999999999999999',
  'transfer-encoding: chunked',
  'Transfer-Encoding:\tChunked ',
  'transfer-encoding: chunked\t',
  'transfer-encoding: gzip',
  'transfer-encoding: gzip, chunked',
  'transfer-encoding: chunked, gzip',
  'transfer-encoding: identity',
  'transfer-encoding: \xa0chunked',
  'transfer-encoding:',
  'transfer-encoding : chunked',
];
const TEXTS: Choice = [
  '',
  'ok',
  'hello',
  '{"received":true}',
  '\0\xff\xc3',
  'HTTP/1.1 200 OK\r\n\r\n',
  'a\r\n\r\nb\n\nc',
];
const EXTENSIONS: Choice = [
  ';a',
  ';a=b',
  ';a="b c"',
  ';a="\\""',
  ';a;b',
  ';',
  ';=b',
  ';a=',
  '; a',
  ' ',
  '\t',
  ';a="b',
  ';a\x01',
];
const TRAILERS: Choice = [
  'x: y',
  'x-digest: 1\r\ny: 2',
  'no colon',
  'x : y',
  ' x: y',
  'x: a\rb',
  'x: y\n',
  'content-length: 5',
  'transfer-encoding: chunked',
  'connection: close',
];
const SURPLUS: Choice = [
  '\r\n',
  '\n',
  'x',
  '\0',
  'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n',
  'HTTP/1.1 500 No\r\n\r\n',
];
const STRANGE_CHARACTERS: Choice = [
  '\r',
  '\n',
  '\r\n',
  '\0',
  ' ',
  '\t',
  ':',
  ';',
  ',',
  '\x7f',
  '\xff',
  '\xa0',
  'a',
  '0',
  '9',
];
