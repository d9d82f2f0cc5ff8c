import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { resolveConnection } from '../../../src/cli/server/connection.ts';
import { profileFile, readProfiles, writeProfile } from '../../../src/cli/server/profiles.ts';
import { tempFolder } from '../../support/paybell.ts';

const KEY = 'pbk_secret';
const STORED = { url: 'https://pay.example.com', processor: 'crypto', entityId: 'ent_1', apiKey: 'pbk_stored' };

describe('the server that commands speak to', () => {
  const resolve = (environment: Record<string, string>, options = {}, profiles = {}) =>
    resolveConnection(options, environment, profiles);

  test('is the one of the environment, by default on this machine', () => {
    const environment = { PAYBELL_API_KEY: KEY, PAYBELL_ENTITY_ID: 'ent_2' };
    const found = { url: 'http://127.0.0.1:8080', processor: 'crypto', entityId: 'ent_2', apiKey: KEY };
    expect(resolve(environment)).toEqual({ ...found, from: 'PAYBELL_API_KEY' });
    const full = { ...environment, PAYBELL_URL: 'https://other.example/', PAYBELL_PROCESSOR: 'acme' };
    expect(resolve(full)).toMatchObject({ url: 'https://other.example', processor: 'acme' });
  });

  test('is that of the profile where the environment has no key', () => {
    expect(resolve({}, {}, { default: STORED })).toEqual({ ...STORED, from: 'profile default' });
    expect(resolve({ PAYBELL_PROFILE: 'live' }, {}, { live: STORED })).toMatchObject({ from: 'profile live' });
  });

  test('is that of the profile which an option names, whatever the environment says', () => {
    const environment = { PAYBELL_API_KEY: KEY, PAYBELL_ENTITY_ID: 'ent_2', PAYBELL_URL: 'https://other.example' };
    expect(resolve(environment, { profile: 'live' }, { live: STORED })).toEqual({ ...STORED, from: 'profile live' });
  });

  test('is acted upon for the entity that an option names', () => {
    expect(resolve({}, { entity: 'ent_9' }, { default: STORED }).entityId).toBe('ent_9');
    expect(resolve({ PAYBELL_API_KEY: KEY, PAYBELL_ENTITY_ID: 'ent_2' }, { entity: 'ent_9' }).entityId).toBe('ent_9');
  });

  test.each([
    [{ PAYBELL_URL: 'https://evil.example' }, {}],
    [{}, { server: 'https://evil.example' }],
    [{}, { server: 'https://evil.example', profile: 'default' }],
  ])('never gets a key that was stored for another: %j %j', (environment, options) => {
    expect(() => resolve(environment as Record<string, string>, options, { default: STORED })).toThrow(
      /the key of profile default is for https:\/\/pay\.example\.com: set PAYBELL_API_KEY too/,
    );
  });

  test('is required, with what to do when none is configured', () => {
    expect(() => resolve({})).toThrow(
      /paybell login[\s\S]*PAYBELL_API_KEY and PAYBELL_ENTITY_ID[\s\S]*export lines to paste[\s\S]*paybell keys create --entity/,
    );
    expect(() => resolve({}, { profile: 'live' }, { default: STORED })).toThrow(
      /no profile live.*\n.*login --profile live/,
    );
    expect(() => resolve({ PAYBELL_API_KEY: KEY })).toThrow(/PAYBELL_ENTITY_ID/);
    expect(() => resolve({}, { entity: 'ent_1' })).toThrow(/on the store itself: paybell store --help$/);
  });

  test('and a misspelt variable is named with the one that is meant', () => {
    expect(() => resolve({ PAYBELL_APIKEY: KEY, PAYBELL_HOME: '/' })).toThrow(
      /PAYBELL_APIKEY is not read: did you mean PAYBELL_API_KEY\?$/,
    );
  });

  test.each(['pay.example.com', 'ftp://pay.example.com', 'https://pay.example.com/?a=1', ''])(
    'is refused when %p is no URL of one',
    (server) => {
      expect(() => resolve({ PAYBELL_API_KEY: KEY, PAYBELL_ENTITY_ID: 'e' }, { server })).toThrow(/not the URL/);
    },
  );
});

describe('a profile', () => {
  let folder: ReturnType<typeof tempFolder>;
  let file: string;

  beforeEach(() => {
    folder = tempFolder();
    file = profileFile({ HOME: folder.path }, 'linux');
  });
  afterEach(() => folder.remove());

  test('is kept where the system keeps settings', () => {
    expect(file).toBe(join(folder.path, '.config/paybell/profiles.json'));
    expect(profileFile({ HOME: '/h', XDG_CONFIG_HOME: '/x' }, 'linux')).toBe('/x/paybell/profiles.json');
    expect(profileFile({ HOME: '/h', APPDATA: '/a' }, 'win32')).toBe('/a/paybell/profiles.json');
  });

  test('is written for its owner alone, beside the others, and forgotten alone', () => {
    writeProfile(file, 'default', STORED);
    writeProfile(file, 'live', { ...STORED, entityId: 'ent_2' });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
    expect(readProfiles(file)).toEqual({ default: STORED, live: { ...STORED, entityId: 'ent_2' } });
    writeProfile(file, 'default', null);
    expect(Object.keys(readProfiles(file))).toEqual(['live']);
  });

  test('that others could read is not left so', () => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, '{"profiles":{}}');
    chmodSync(file, 0o644);
    writeProfile(file, 'default', STORED);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('in a damaged file is an error that repeats nothing of it, and the file stays', () => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `{"profiles":{"default":{"apiKey":"${KEY}"}}}`);
    expect(() => readProfiles(file)).toThrow(/is damaged: delete it and use paybell login/);
    expect(() => writeProfile(file, 'default', STORED)).toThrow(/is damaged/);
    expect(readFileSync(file, 'utf8')).toContain(KEY);
    try {
      readProfiles(file);
    } catch (error) {
      expect(String(error)).not.toContain(KEY);
    }
  });
});
