/**
 * The fields at the top of a JSON object, each as the text of its value. `JSON.parse` would round numbers, and would
 * build the whole payload for the few fields that a filter names. The caller has checked that the text is valid JSON.
 */
export function readPayloadFields(body: string): Map<string, string> {
  const fields = new Map<string, string>();
  let position = skipSpace(body, skipSpace(body, 0) + 1);
  while (body.charCodeAt(position) === QUOTE) {
    const nameEnd = endOfString(body, position);
    const written = body.slice(position, nameEnd);
    const start = skipSpace(body, skipSpace(body, nameEnd) + 1);
    const end = endOfValue(body, start);
    // If a field is given twice, the last one counts, as with `JSON.parse`.
    fields.set(written.includes('\\') ? String(JSON.parse(written)) : written.slice(1, -1), body.slice(start, end));
    // Skips the comma, or the bracket at the end of the object.
    position = skipSpace(body, skipSpace(body, end) + 1);
  }
  return fields;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

function skipSpace(text: string, from: number): number {
  let position = from;
  while (text.charCodeAt(position) <= 0x20) position++;
  return position;
}

function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start);
  if (isOpening(first)) return endOfBrackets(text, start);
  let end = start;
  while (end < text.length && !isDelimiter(text.charCodeAt(end))) end++;
  return end;
}

function endOfBrackets(text: string, start: number): number {
  let depth = 0;
  for (let position = start; position < text.length; position++) {
    const character = text.charCodeAt(position);
    if (character === QUOTE) position = endOfString(text, position) - 1;
    else if (isOpening(character)) depth++;
    else if (isClosing(character) && --depth === 0) return position + 1;
  }
  return text.length;
}

/** The position after the closing quote. */
function endOfString(text: string, start: number): number {
  for (let position = start + 1; position < text.length; position++) {
    const character = text.charCodeAt(position);
    if (character === QUOTE) return position + 1;
    if (character === BACKSLASH) position++;
  }
  return text.length;
}

function isOpening(character: number): boolean {
  return character === 0x7b || character === 0x5b;
}

function isClosing(character: number): boolean {
  return character === 0x7d || character === 0x5d;
}

function isDelimiter(character: number): boolean {
  return character === 0x2c || character <= 0x20 || isClosing(character);
}
