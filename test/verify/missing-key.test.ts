import { expect, test } from 'bun:test';
import { verify } from '../../src/verify/verify.ts';
import { rejection } from '../support/rejection.ts';

test.each([[undefined], [[]]])('verifying with the keys %j says that no key was given', async (keys) => {
  // A setting that is missing, in a program without types.
  const given = keys as unknown as string;
  expect(await rejection(verify('{}', {}, given))).toMatchObject({
    name: 'VerificationError',
    message: expect.stringContaining('no key was given'),
  });
});
