import { posix } from 'node:path';

/** The folders with more than so many files directly in them, as `folder: number of files`. */
export function crowdedFolders(files: readonly string[], most: number): string[] {
  const counts = new Map<string, number>();
  for (const file of files) counts.set(posix.dirname(file), (counts.get(posix.dirname(file)) ?? 0) + 1);
  return [...counts].filter(([, count]) => count > most).map(([folder, count]) => `${folder}: ${count} files`);
}

export function medianLines(sources: readonly string[]): number {
  const lines = sources.map((source) => source.split('\n').length - 1).sort((a, b) => a - b);
  return lines[Math.floor(lines.length / 2)] ?? 0;
}
