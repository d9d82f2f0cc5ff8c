/** One piece of a text of JSON as it is laid out; the pieces in their order are the whole text. */
export type JsonPiece = { readonly kind: 'key' | 'string' | 'literal' | 'layout'; readonly text: string };

/** Strings, then what opens, closes or parts, then numbers and words; the blanks between them match nothing. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g;

/**
 * The same text with one field a line, or null when it is no JSON. It is laid out token by token and never written anew
 * from parsed values, which would round long amounts and move keys.
 */
export function layOutJson(text: string, indent = '  '): JsonPiece[] | null {
  return isJson(text) ? layOutTokens(text.match(TOKEN) ?? [], indent) : null;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function layOutTokens(tokens: readonly string[], indent: string): JsonPiece[] {
  let depth = 0;
  const newLine = () => `\n${indent.repeat(depth)}`;
  return tokens.map((token, index): JsonPiece => {
    const next = tokens[index + 1] ?? '';
    const before = tokens[index - 1] ?? '';
    if (token === '{' || token === '[') {
      depth++;
      return { kind: 'layout', text: token + (next === '}' || next === ']' ? '' : newLine()) };
    }
    if (token === '}' || token === ']') {
      depth--;
      return { kind: 'layout', text: (before === '{' || before === '[' ? '' : newLine()) + token };
    }
    if (token === ',') return { kind: 'layout', text: `,${newLine()}` };
    if (token === ':') return { kind: 'layout', text: ': ' };
    return { kind: next === ':' ? 'key' : token.startsWith('"') ? 'string' : 'literal', text: token };
  });
}
