import { paint } from './output.ts';

/** Strings, then what opens, closes or parts, then numbers and words; the blanks between them match nothing. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g;

/**
 * The same text with one field a line, or as it is when it is no JSON. It is laid out token by token and never written
 * anew from parsed values, which would round long amounts and move keys.
 */
export function prettyJson(text: string, indent = '  '): string {
  return isJson(text) ? layOutTokens(text.match(TOKEN) ?? [], indent) : text;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function layOutTokens(tokens: readonly string[], indent: string): string {
  let depth = 0;
  let out = '';
  const newLine = () => `\n${indent.repeat(depth)}`;
  tokens.forEach((token, index) => {
    const next = tokens[index + 1] ?? '';
    const before = tokens[index - 1] ?? '';
    if (token === '{' || token === '[') {
      depth++;
      out += token + (next === '}' || next === ']' ? '' : newLine());
    } else if (token === '}' || token === ']') {
      depth--;
      out += (before === '{' || before === '[' ? '' : newLine()) + token;
    } else if (token === ',') out += `,${newLine()}`;
    else if (token === ':') out += ': ';
    else out += paintToken(token, next === ':');
  });
  return out;
}

function paintToken(token: string, isKey: boolean): string {
  if (isKey) return paint(token, 'cyan');
  return paint(token, token.startsWith('"') ? 'green' : 'yellow');
}
