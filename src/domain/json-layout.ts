/** A part of formatted JSON. All parts in order are the whole text. */
export type JsonPiece = { readonly kind: 'key' | 'string' | 'literal' | 'layout'; readonly text: string };

/** Strings, then brackets and separators, then numbers and literals. Whitespace between them does not match. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g;

/**
 * The same JSON with one field per line, or null when the text is not JSON. The text is formatted token by token:
 * serializing parsed values would round long numbers and reorder keys.
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
