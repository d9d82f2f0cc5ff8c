import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';
import { runCommand } from '../harness/processes.ts';

/** The program that a variable of the environment names; null where it names none. */
export function namedProgram(variable: string): string | null {
  const named = process.env[variable] ?? '';
  if (named === '') return null;
  const program = resolve(named);
  try {
    accessSync(program, constants.X_OK);
  } catch {
    throw new Error(`${variable} names ${program}, which is not there or cannot be run`);
  }
  return program;
}

/** What a named program needs beside it. */
export function required(program: string | null, name: string, neededBy: string): string {
  if (program === null) throw new Error(`${neededBy} needs ${name}, which is not on the PATH`);
  return program;
}

/** The last word of what it prints about its version. */
export async function versionOf(program: string): Promise<string> {
  return (await runCommand([program, '--version'], {})).trim().split(' ').at(-1) ?? '';
}

/** A request that sets a peer up, and the JSON that it returns. */
export async function setUp<Output>(
  method: 'POST' | 'PUT',
  url: string,
  headers: Readonly<Record<string, string>>,
  body: unknown,
): Promise<Output> {
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${method} ${url} returned ${response.status}: ${await response.text()}`);
  return (await response.json()) as Output;
}
