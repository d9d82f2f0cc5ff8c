/**
 * Resolves at the first SIGTERM or SIGINT. The listeners stay: under npm, Ctrl-C arrives twice, from the terminal and
 * from npm, and the second one must not end the process while it stops.
 */
export function nextStopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve(signal));
  });
}
