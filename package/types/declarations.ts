import { dirname, resolve } from 'node:path';

/** Bundles the declarations that the compiler emits for each module into one file. */

const RELATIVE_IMPORT = /^import (?:type )?\{[^}]*\} from '(\.[^']+)';\n/gm;
const RELATIVE_EXPORT = /^export (?:type )?(?:\{([^}]*)\}|\*) from '(\.[^']+)';\n/gm;
const DECLARED = /^export (?=(?:declare (?:class|function|const) |type |interface )(\w+))/gm;

export type ReadDeclaration = (path: string) => Promise<string>;

/**
 * The declarations of every module that the entry imports, directly or not, each once. Only what the entry exports
 * keeps its `export`, so that users see nothing internal.
 */
export async function bundleDeclarations(entry: string, read: ReadDeclaration): Promise<string> {
  const texts = new Map<string, string>();
  await collect(entry, read, texts);
  const exported = await exportedNames(entry, read);
  const own = [...texts.values()].map((text) =>
    text
      .replace(RELATIVE_IMPORT, '')
      .replace(RELATIVE_EXPORT, '')
      .replace(DECLARED, (match, name: string) => (exported.has(name) ? match : ''))
      .replace(/^export \{\};\n/gm, '')
      .trim(),
  );
  const external = own.flatMap((text) => text.match(/^import .*$|^export .* from .*$/gm) ?? []);
  if (external.length > 0) throw new Error(`declarations reach outside the package: ${external.join(' ')}`);
  // Without this line TypeScript would treat every declaration of the file as exported.
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

/** The names in the entry's export lists, and all types of a module that it exports with `export type *`. */
async function exportedNames(entry: string, read: ReadDeclaration): Promise<Set<string>> {
  const text = await read(entry);
  const exported = new Set<string>();
  for (const [, list, specifier = ''] of text.matchAll(RELATIVE_EXPORT)) {
    const target = resolve(dirname(entry), specifier).replace(/\.ts$/, '.d.ts');
    const names = list?.split(',') ?? typesDeclared(await read(target));
    for (const name of names) exported.add(name.replace(/^\s*type /, '').trim());
  }
  return exported;
}

/** Without the classes: as types alone they could not be told from values that the module does not have. */
function typesDeclared(text: string): string[] {
  return [...text.matchAll(/^export (?:type|interface) (\w+)/gm)].map((match) => match[1] ?? '');
}
