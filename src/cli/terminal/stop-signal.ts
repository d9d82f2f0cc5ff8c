/** Listens on after the first: npm passes Ctrl-C on to us beside the terminal, and the second would cut the stop short. */
export function nextStopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve(signal));
  });
}
