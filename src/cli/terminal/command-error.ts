export const EXIT = { success: 0, failure: 1, usage: 2 } as const;

/** Something a person did: said in a sentence, without a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError';

  constructor(
    message: string,
    readonly exitCode: number = EXIT.failure,
  ) {
    super(message);
  }
}

/** Everything there is to say has been said, line by line; only the exit code is left. */
export class ReportedFailure extends Error {
  override readonly name = 'ReportedFailure';
}
