import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { loadConfig, SETTING_NAMES } from '../../../src/config.ts';
import { longestStopMs } from '../../../src/service/stop-times.ts';
import { commandLine } from '../../support/command-line.ts';
import { findDockerfileErrors, instructionsOf } from './dockerfile-rules.ts';

/** Checks that need no container: the files refer only to files, settings and commands that exist, and follow the rules. */

const ROOT = resolve(import.meta.dir, '../../..');
const read = (path: string) => Bun.file(join(ROOT, path)).text();

/** The command of the image's health check. */
async function healthCheck(): Promise<string[]> {
  return JSON.parse(/^HEALTHCHECK .* CMD (\[.*\])$/m.exec(await read('Dockerfile'))?.[1] ?? '[]') as string[];
}

describe('the Dockerfile', () => {
  test('copies only files that exist and that .dockerignore does not exclude', async () => {
    const text = await read('Dockerfile');
    const copied = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = '']) => files.split(' '));
    const included = (await read('.dockerignore')).split('\n').filter((line) => line.startsWith('!'));
    expect(copied.length).toBeGreaterThan(4);
    for (const file of copied) expect({ file, exists: existsSync(join(ROOT, file)) }).toEqual({ file, exists: true });
    expect(copied.sort()).toEqual(included.map((line) => line.slice(1)).sort());
  });

  test('follows every rule', async () => {
    const text = await read('Dockerfile');
    expect(instructionsOf(text).length).toBeGreaterThan(10);
    expect(findDockerfileErrors(text)).toEqual([]);
  });

  test.each([
    ['FROM node:24-bookworm-slim', 'FROM node:latest', 'pin'],
    ['FROM debian:12-slim', 'FROM debian', 'pin'],
    ['COPY src src', 'ADD https://example.com/src.tar.gz src', 'ADD'],
    ['RUN npm ci', 'RUN cd /paybell && sudo npm ci', 'RUN'],
    ['WORKDIR /var/lib/paybell', 'WORKDIR paybell', 'WORKDIR'],
    ['USER 10001', 'USER paybell', 'USER'],
    ['USER 10001', 'USER 0', 'USER'],
    ['ENTRYPOINT ["paybell"]', 'ENTRYPOINT paybell', 'ENTRYPOINT'],
    ['HEALTHCHECK', 'LABEL check=none #', 'HEALTHCHECK'],
    ['ENV HOST=0.0.0.0', 'ENV SECRET_KEY=abc HOST=0.0.0.0', 'ENV'],
  ])('would break a rule with %p replaced by %p', async (from, to, word) => {
    const text = await read('Dockerfile');
    expect(text).toContain(from);
    expect(findDockerfileErrors(text.replace(from, to)).join(' ')).toContain(word);
  });

  test('has a health check that is a command of Paybell and fails when nothing listens', async () => {
    const [program, ...args] = await healthCheck();
    expect(program).toBe('paybell');
    const { exitCode, stderr } = await commandLine({ PORT: '9' })(args);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining('no response') });
  });
});

describe('compose.yaml', () => {
  type Service = {
    image: string;
    environment: Record<string, string>;
    stop_grace_period: string;
    read_only?: boolean;
    tmpfs?: string[];
    volumes?: string[];
    cap_drop?: string[];
    security_opt?: string[];
    ports?: string[];
    healthcheck?: { test: string[] };
  };
  type Compose = { services: Record<'paybell' | 'postgres', Service>; volumes: Record<string, unknown> };
  const parse = async () => Bun.YAML.parse(await read('compose.yaml')) as Compose;

  test('sets only settings that exist, and all that PostgreSQL needs', async () => {
    const { services } = await parse();
    const { environment } = services.paybell;
    for (const name of Object.keys(environment)) expect(SETTING_NAMES as string[]).toContain(name);
    const given = { POSTGRES_PASSWORD: 'a1b2', SECRET_KEY: Buffer.alloc(32, 7).toString('base64') };
    const filled = Object.entries(environment).map(([name, value]) => [name, fill(value, given)]);
    expect(loadConfig(Object.fromEntries(filled)).DATABASE_URL).toEqual({
      engine: 'postgres',
      url: 'postgres://paybell:a1b2@postgres:5432/paybell',
    });
    expect(Number.parseInt(services.paybell.stop_grace_period, 10) * 1000).toBeGreaterThan(
      longestStopMs(loadConfig({})),
    );
  });

  test('gives Paybell a file system that it can read only, but for its own folder and /tmp', async () => {
    const { services, volumes } = await parse();
    const { read_only, tmpfs, volumes: mounted = [], cap_drop, security_opt } = services.paybell;
    expect({ read_only, cap_drop, security_opt }).toEqual({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
    expect(tmpfs).toEqual(['/tmp']);
    const [, folder] = /^VOLUME (\S+)$/m.exec(await read('Dockerfile')) ?? [];
    expect(mounted).toEqual([`paybell:${folder}`]);
    expect(Object.keys(volumes).sort()).toEqual(['paybell', 'postgres']);
  });

  test('checks the health of both, pins the image of the database, and opens no port to other machines', async () => {
    const { services } = await parse();
    expect(await healthCheck()).toEqual(['paybell', 'ready']);
    expect(services.postgres.healthcheck?.test).toContain('pg_isready');
    expect(services.postgres.image).toMatch(/^postgres:\d+/);
    expect(services.paybell.ports).toEqual(['127.0.0.1:8080:8080']);
    expect(services.postgres.ports).toBeUndefined();
  });
});

/** Substitutes `${NAME:?}` and `${NAME:-}` as Docker Compose does. */
function fill(text: string, given: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{([A-Z_]+):[?-]\}/g, (_all, name: string) => given[name] ?? '');
}
