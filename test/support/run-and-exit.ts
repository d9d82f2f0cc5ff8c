import { printError } from '../../src/cli/terminal/output.ts';
import { stopPostgres } from './postgres.ts';

/** Ends the process with the code that `main` returns, or with 2 and its error, after PostgreSQL has stopped. */
export async function runAndExit(main: () => Promise<number>): Promise<never> {
  let exitCode = 2;
  try {
    exitCode = await main();
  } catch (error) {
    printError(error instanceof Error ? error.message : String(error));
  } finally {
    await stopPostgres();
  }
  // Explicit, since the exit hook of the embedded PostgreSQL would otherwise end the process with 0.
  process.exit(exitCode);
}
