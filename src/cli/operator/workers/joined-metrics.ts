/**
 * The metrics of several processes as one text in the format of Prometheus. Every series gets a label with the number
 * of its process, and keeps the meaning that it has in a scrape of one instance.
 */
export function joinMetrics(texts: ReadonlyMap<number, string>): string {
  const metrics = new Map<string, { head: string; lines: string[] }>();
  for (const [worker, text] of texts) {
    let lines: string[] = [];
    for (const line of text.split('\n')) {
      const name = /^# HELP (\S+)/.exec(line)?.[1];
      if (name !== undefined) {
        const metric = metrics.get(name) ?? { head: '', lines: [] };
        if (metric.head === '') metric.head = `${line}\n`;
        metrics.set(name, metric);
        lines = metric.lines;
      } else if (line.startsWith('# TYPE ')) {
        const metric = metrics.get(line.split(' ')[2] ?? '');
        if (metric !== undefined && !metric.head.includes('# TYPE ')) metric.head += `${line}\n`;
      } else if (line !== '') lines.push(withLabel(line, `process="${worker}"`));
    }
  }
  return [...metrics.values()].map(({ head, lines }) => head + lines.map((line) => `${line}\n`).join('')).join('');
}

function withLabel(line: string, label: string): string {
  const end = line.search(/[{ ]/);
  const [name, rest] = [line.slice(0, end), line.slice(end)];
  return rest.startsWith('{') ? `${name}{${label},${rest.slice(1)}` : `${name}{${label}}${rest}`;
}
