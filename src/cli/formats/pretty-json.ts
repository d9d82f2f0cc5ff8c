import { type JsonPiece, layOutJson } from '../../domain/json-layout.ts';
import { paint } from '../terminal/output.ts';

/** The same JSON with one field per line and in colour; text that is not JSON is returned unchanged. */
export function prettyJson(text: string, indent?: string): string {
  return layOutJson(text, indent)?.map(paintPiece).join('') ?? text;
}

function paintPiece({ kind, text }: JsonPiece): string {
  if (kind === 'layout') return text;
  return paint(text, kind === 'key' ? 'cyan' : kind === 'string' ? 'green' : 'yellow');
}
