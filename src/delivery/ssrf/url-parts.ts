import { BoundedMap } from '../../bounded-map.ts';
import { addressLiteralOf, portOf } from '../../domain/post-url.ts';

const MAX_REMEMBERED = 10_000;

/** A URL taken apart for posting to it. */
export type PostTarget = {
  readonly hostname: string;
  /** Where the host is an address and no name. */
  readonly literal: string | null;
  readonly port: number;
  readonly isSecure: boolean;
  /** The name to ask for and to verify; an address has none, and SNI knows no trailing dot. */
  readonly serverName: string | null;
  /** As the Host header has it. */
  readonly host: string;
  /** Path and query. */
  readonly path: string;
};

/** Thousands of posts go to the same few URLs: each is taken apart once. */
export class PostTargets {
  readonly #known = new BoundedMap<string, PostTarget | null>(MAX_REMEMBERED);

  /** Null for what is no URL. */
  find(postUrl: string): PostTarget | null {
    const known = this.#known.get(postUrl);
    if (known !== undefined) return known;
    const target = takeApart(postUrl);
    this.#known.set(postUrl, target);
    return target;
  }
}

function takeApart(postUrl: string): PostTarget | null {
  const url = URL.parse(postUrl);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return null;
  const literal = addressLiteralOf(url.hostname);
  return {
    hostname: url.hostname,
    literal,
    port: Number(portOf(url)),
    isSecure: url.protocol === 'https:',
    serverName: literal === null ? url.hostname.replace(/\.$/, '') : null,
    host: url.host,
    path: `${url.pathname}${url.search}`,
  };
}
