import { dirname, resolve } from 'node:path';

/** One declaration file out of those that the compiler made of each module. */

const RELATIVE_IMPORT = /^import (?:type )?\{[^}]*\} from '(\.[^']+)';\n/gm;
const RELATIVE_EXPORT = /^export (?:type )?(?:\{([^}]*)\}|\*) from '(\.[^']+)';\n/gm;
const DECLARED = /^export (?=(?:declare (?:class|function|const) |type |interface )(\w+))/gm;

export type ReadDeclaration = (path: string) => Promise<string>;

/**
 * Every module that the entry reaches, one after the other, each once. What the entry does not show loses its `export`,
 * so that a user sees what is meant for users and nothing else.
 */
export async function bundleDeclarations(entry: string, read: ReadDeclaration): Promise<string> {
  const texts = new Map<string, string>();
  await collect(entry, read, texts);
  const shown = await namesShown(entry, read);
  const own = [...texts.values()].map((text) =>
    text
      .replace(RELATIVE_IMPORT, '')
      .replace(RELATIVE_EXPORT, '')
      .replace(DECLARED, (match, name: string) => (shown.has(name) ? match : ''))
      .replace(/^export \{\};\n/gm, '')
      .trim(),
  );
  const leftOut = own.flatMap((text) => text.match(/^import .*$|^export .* from .*$/gm) ?? []);
  if (leftOut.length > 0) throw new Error(`declarations reach outside the package: ${leftOut.join(' ')}`);
  // Without this line every declaration of the file would count as exported.
  return `${own.filter((text) => text !== '').join('\n\n')}\n\nexport {};\n`;
}

async function collect(path: string, read: ReadDeclaration, texts: Map<string, string>): Promise<void> {
  if (texts.has(path)) return;
  const text = await read(path);
  texts.set(path, text);
  for (const target of targetsOf(path, text)) await collect(target, read, texts);
}

function targetsOf(path: string, text: string): string[] {
  const specifiers = [
    ...[...text.matchAll(RELATIVE_IMPORT)].map((match) => match[1] ?? ''),
    ...[...text.matchAll(RELATIVE_EXPORT)].map((match) => match[2] ?? ''),
  ];
  return specifiers.map((specifier) => resolve(dirname(path), specifier).replace(/\.ts$/, '.d.ts'));
}

/** The names in the entry's export lists, and all of a module that it shows whole. */
async function namesShown(entry: string, read: ReadDeclaration): Promise<Set<string>> {
  const text = await read(entry);
  const shown = new Set<string>();
  for (const [, list, specifier = ''] of text.matchAll(RELATIVE_EXPORT)) {
    const target = resolve(dirname(entry), specifier).replace(/\.ts$/, '.d.ts');
    const names = list?.split(',') ?? (await namesDeclared(await read(target)));
    for (const name of names) shown.add(name.replace(/^\s*type /, '').trim());
  }
  return shown;
}

async function namesDeclared(text: string): Promise<string[]> {
  return [...text.matchAll(DECLARED)].map((match) => match[1] ?? '');
}
