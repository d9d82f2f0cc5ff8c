import { posix } from 'node:path';

/** The folders with more than so many files directly in them, as `folder: number of files`. */
export function crowdedFolders(files: readonly string[], most: number): string[] {
  const counts = new Map<string, number>();
  for (const file of files) counts.set(posix.dirname(file), (counts.get(posix.dirname(file)) ?? 0) + 1);
  return [...counts].filter(([, count]) => count > most).map(([folder, count]) => `${folder}: ${count} files`);
}

/** The files with more than so many lines, as `file: number of lines`. */
export function longFiles(sources: ReadonlyMap<string, string>, most: number): string[] {
  return [...sources]
    .filter(([, source]) => linesOf(source) > most)
    .map(([file, source]) => `${file}: ${linesOf(source)} lines`);
}

export function medianLines(sources: readonly string[]): number {
  const lines = sources.map(linesOf).sort((a, b) => a - b);
  return lines[Math.floor(lines.length / 2)] ?? 0;
}

function linesOf(source: string): number {
  return source.split('\n').length - 1;
}
