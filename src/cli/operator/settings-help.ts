import settingsFile from '../../../.env.example' with { type: 'text' };
import { paint } from '../terminal/output.ts';
import { terminal } from '../terminal/terminal.ts';

const INDENT = '      ';
const DEFAULT_WIDTH = 80;

/** The settings as `.env.example` describes them, for `serve --help`. */
export function settingsHelp(): string {
  const { isTTY, columns = DEFAULT_WIDTH } = terminal().stdout;
  const width = isTTY ? columns : DEFAULT_WIDTH;
  return [
    'Settings, as environment variables or in a file .env, with their defaults:',
    ...describedSettings().flatMap(({ name, value, description }) => [
      `  ${paint(name, 'bold')}${value === '' ? '' : `=${value}`}`,
      ...wrap(description, width - INDENT.length).map((line) => INDENT + line),
    ]),
  ].join('\n');
}

/** Reads the paragraphs of the file. A paragraph has lines of description and then the setting, each after a `#`. */
function describedSettings(): { name: string; value: string; description: string }[] {
  return settingsFile.split('\n\n').flatMap((paragraph) => {
    const lines = paragraph.trim().split('\n');
    const [, name, value = ''] = /^# ([A-Z_]+)=(.*)$/.exec(lines.pop() ?? '') ?? [];
    if (name === undefined) return [];
    return [{ name, value, description: lines.map((line) => line.replace(/^# /, '')).join(' ') }];
  });
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
