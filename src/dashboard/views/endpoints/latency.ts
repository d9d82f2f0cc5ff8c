import { useMemo } from 'preact/hooks';
import { paybell } from '../../api.ts';
import { useResponse } from '../../use-response.ts';

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/** The destination of a URL as the statistics name it: scheme, host and port. */
export function destinationOf(postUrl: string): string {
  if (!URL.canParse(postUrl)) return '';
  const { protocol, hostname, port } = new URL(postUrl);
  return `${protocol}//${hostname}:${port || DEFAULT_PORTS[protocol]}`;
}

/**
 * The 95th percentile of the delivery latency of the last 24 hours in milliseconds, of the destinations with the most traffic.
 * Read once, because it changes slowly, and apart from the list, because a key may not be allowed to read it.
 */
export function useLatency(): ReadonlyMap<string, number> {
  const { data } = useResponse('latency', (signal) => paybell().stats({ interval: 'hour' }, { signal }));
  return useMemo(() => {
    const known = (data?.destinations ?? []).flatMap(({ destination, timeToReceiptMs: { p95 } }) =>
      p95 === null ? [] : [[destination, p95] as const],
    );
    return new Map(known);
  }, [data]);
}
