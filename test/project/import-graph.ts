import { posix } from 'node:path';

const IMPORT = /\b(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\s*\(?\s*['"]([^'"]+)['"]/g;

/** Types count too: a file that takes only a type of another still depends on it. */
export function importsOf(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
  return [...code.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? '');
}

/** The packages that the source imports, and the modules of the runtime such as `node:crypto`. */
export function packagesImported(source: string): string[] {
  return importsOf(source).filter((specifier) => !specifier.startsWith('.'));
}

/** The imported files of the project, by their paths from its root. */
export function filesImported(file: string, source: string): string[] {
  return importsOf(source)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => posix.join(posix.dirname(file), specifier));
}

/** Each file with the files that it imports. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

export function importGraph(sources: ReadonlyMap<string, string>): ImportGraph {
  return new Map([...sources].map(([file, source]) => [file, filesImported(file, source)]));
}

/** Every import cycle, each written once as `a → b → a`, from its first file in alphabetical order. */
export function importCycles(graph: ImportGraph): string[] {
  const cycles = new Set<string>();
  for (const file of graph.keys()) {
    const path = shortestPathBack(graph, file);
    if (path !== null) cycles.add(fromItsFirstFile(path).join(' → '));
  }
  return [...cycles].sort();
}

/** The shortest way from the file along its imports back to itself, without the return; null if there is none. */
function shortestPathBack(graph: ImportGraph, start: string): string[] | null {
  const reached = new Set<string>();
  const paths: string[][] = [[start]];
  for (const path of paths) {
    for (const next of graph.get(path.at(-1) ?? '') ?? []) {
      if (next === start) return path;
      if (reached.has(next)) continue;
      reached.add(next);
      paths.push([...path, next]);
    }
  }
  return null;
}

function fromItsFirstFile(path: readonly string[]): string[] {
  const [first = ''] = [...path].sort();
  const at = path.indexOf(first);
  return [...path.slice(at), ...path.slice(0, at), first];
}

/** The files outside of the folder that import a file in it. */
export function importersOf(graph: ImportGraph, folder: string): string[] {
  return [...graph.keys()].filter(
    (file) => !file.startsWith(folder) && graph.get(file)?.some((target) => target.startsWith(folder)),
  );
}
