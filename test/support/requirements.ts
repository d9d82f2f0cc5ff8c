export function summarizeSkips(names: readonly string[]): string {
  return `Skipped ${names.length} tests`;
}
