import { resolve } from 'node:path';

/**
 * Words of a vocabulary that this project once had to itself, and that a reader would have to learn. Run this file for
 * the list of those that are left.
 */

const ROOT = resolve(import.meta.dir, '../..');

const PRIVATE_WORDS =
  /\b(whoever|nobody|somebody|anew|mend(s|ed|ing)?|fares?|unwell|hand(ed)?[- ]over|the house|bells?|(stand|stands|standing|wait|waits|waiting|be|is|are|goes|go) in line)\b/gi;

/** The same words inside of an identifier, which has no word boundary around them. */
const PRIVATE_IDENTIFIERS =
  /(?<![A-Za-z])(bell|unwell|anew)(?=[A-Z_])|(?<=[a-z])(Bell|Unwell|Anew|HandOver|InLine)(?![a-z])|\b(inLine|handOver|HandOver|Bell|Unwell)(?![a-z])|UNWELL|HAND_OVER/g;

const READ = ['{src,docs}/**/*', '{README,ARCHITECTURE,CONTRIBUTING}.md'];
/** The licences are quoted, and an image has no words. */
const NOT_READ = /(^|\/)licences\.md$|\.(png|jpe?g|gif|webp|ico|woff2?)$/;

/** Each word found, as `file:line: word`. */
export function privateWordsIn(file: string, text: string): string[] {
  const patterns = file.startsWith('src/') ? [PRIVATE_WORDS, PRIVATE_IDENTIFIERS] : [PRIVATE_WORDS];
  return text
    .split('\n')
    .flatMap((line, index) =>
      patterns.flatMap((pattern) => [...line.matchAll(pattern)].map(([word]) => `${file}:${index + 1}: ${word}`)),
    );
}

export async function privateWords(): Promise<{ files: number; found: string[] }> {
  const files = READ.flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(ROOT)])
    .filter((file) => !NOT_READ.test(file))
    .sort();
  const found = await Promise.all(
    files.map(async (file) => privateWordsIn(file, await Bun.file(resolve(ROOT, file)).text())),
  );
  return { files: files.length, found: found.flat() };
}

if (import.meta.main) {
  const { found } = await privateWords();
  for (const hit of found) console.log(hit);
  process.exitCode = found.length === 0 ? 0 : 1;
}
