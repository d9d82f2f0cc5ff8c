import { resolve } from 'node:path';
import { faultsOf, retiredWordIn } from './rules.ts';
import { lineOfName, namesIn, sentencesIn } from './sentences.ts';

/** Finds the sentences and names that break a rule, in documents, comments, and texts for people. */

export const ROOT = resolve(import.meta.dir, '../../..');

const READ = ['*.md', 'docs/**/*.md', '{examples,site}/*.md', 'package/*/README.md', 'src/**/*.{ts,tsx,css}'];
const NOT_READ = /(^|\/)node_modules\//;

export type Finding = { readonly file: string; readonly line: number; readonly fault: string; readonly text: string };

export function findingsIn(file: string, text: string): Finding[] {
  const inSentences = sentencesIn(file, text).flatMap((sentence) =>
    faultsOf(sentence).map((fault) => ({ file, line: sentence.line, fault, text: sentence.text })),
  );
  return file.endsWith('.md') ? inSentences : [...inSentences, ...findingsInNames(file, text)];
}

function findingsInNames(file: string, source: string): Finding[] {
  return [...namesIn(source)].flatMap((name) => {
    const word = retiredWordIn(name);
    if (word === null) return [];
    return [{ file, line: lineOfName(source, name), fault: `has a name with a retired word (${word})`, text: name }];
  });
}

/** The findings of every file that is read, by path. A file without findings has an empty list. */
export async function readFindings(): Promise<Map<string, Finding[]>> {
  const files = READ.flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(ROOT)]).filter(
    (file) => !NOT_READ.test(file),
  );
  const read = async (file: string): Promise<[string, Finding[]]> => [
    file,
    findingsIn(file, await Bun.file(resolve(ROOT, file)).text()),
  ];
  return new Map(await Promise.all(files.sort().map(read)));
}

export function describeFinding({ file, line, fault, text }: Finding): string {
  return `${file}:${line}: ${fault}: ${text}`;
}
