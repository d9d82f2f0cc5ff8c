import { OPERATOR } from './api-keys.ts';

/** The actor of a change that was not made with an API key. */
export const ACTORS = { commandLine: 'cli', operator: OPERATOR, paybell: 'paybell' } as const;
