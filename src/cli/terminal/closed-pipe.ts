import { EXIT } from './command-error.ts';

/**
 * Ends the process quietly when its output is a pipe whose reader has gone, as with `| head -1`. Other programs end by
 * the signal SIGPIPE, which Bun ignores. If the reader of standard error has gone, the command ends with a failure,
 * because the reader may have missed an error.
 */
export function endWithReader(): void {
  const exitCodes = [
    [process.stdout, EXIT.success],
    [process.stderr, EXIT.failure],
  ] as const;
  for (const [stream, exitCode] of exitCodes) {
    stream.on('error', (error: Error & { code?: string }) => {
      if (error.code !== 'EPIPE') throw error;
      process.exit(exitCode);
    });
  }
}
