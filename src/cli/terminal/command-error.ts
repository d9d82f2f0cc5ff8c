export const EXIT = { success: 0, failure: 1, usage: 2 } as const;

/** An error that the user can fix: the message is printed without a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError';

  constructor(
    message: string,
    readonly exitCode: number = EXIT.failure,
  ) {
    super(message);
  }
}

/** The command line is wrong, which has its own exit code. */
export class UsageError extends CommandError {
  constructor(message: string) {
    super(message, EXIT.usage);
  }
}

/** A failure that the command has already printed. It only sets the exit code. */
export class ReportedFailure extends Error {
  override readonly name = 'ReportedFailure';
}
