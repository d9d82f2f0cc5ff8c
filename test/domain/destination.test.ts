import { describe, expect, test } from 'bun:test';
import {
  destinationKey,
  destinationOf,
  entityKeyPrefix,
  entityOfDestination,
  rateOf,
  withoutRate,
} from '../../src/domain/post-url.ts';

describe('a destination', () => {
  test.each([
    ['https://example.com/a?b', 'https://example.com:443'],
    ['HTTPS://Example.COM:443/other', 'https://example.com:443'],
    ['https://example.com.:443', 'https://example.com:443'],
    ['https://example.com:8443/', 'https://example.com:8443'],
    ['http://127.1:8080/hook', 'http://127.0.0.1:8080'],
    ['http://localhost/', 'http://localhost:80'],
    ['https://[2606:4700:0:0::1111]/', 'https://[2606:4700::1111]:443'],
  ])('of %s is %s', (postUrl, destination) => {
    expect(destinationOf(postUrl)).toBe(destination);
  });
});

describe('a destination key', () => {
  const key = destinationKey('ent_1', 'https://example.com/a?b');

  test('is the entity and the destination', () => {
    expect(key as string).toBe('ent_1 https://example.com:443');
  });

  test('names its entity', () => {
    expect(entityOfDestination(key)).toBe('ent_1');
    expect(entityOfDestination(entityKeyPrefix('ent_1'))).toBe('ent_1');
  });

  test('of an endpoint with a rate limit has the rate at its end', () => {
    const paced = destinationKey('ent_1', 'https://example.com/a?b', { endpointNo: 7, perSecond: 20 });
    expect(paced as string).toBe('ent_1 https://example.com:443 20/s 7');
    expect([rateOf(paced), rateOf(key)]).toEqual([20, null]);
    expect([withoutRate(paced), withoutRate(key)]).toEqual([key, key]);
  });

  test('lies between the prefix of its entity and the next entity', () => {
    expect(key > entityKeyPrefix('ent_1')).toBe(true);
    expect(key < entityKeyPrefix('ent_10')).toBe(true);
  });
});
