import { addressLiteralOf, portOf } from '../domain/post-url.ts';

const MAX_REMEMBERED = 10_000;

/** A URL taken apart for posting to it. */
export type PostTarget = {
  readonly url: URL;
  readonly isSecure: boolean;
  readonly host: string;
  /** The name to ask for and to verify; an address has none, and SNI knows no trailing dot. */
  readonly serverName: string | null;
  /** What stands behind the address: port, path and query. */
  readonly rest: string;
};

/** Thousands of posts go to the same few URLs: each is taken apart once. */
export class PostTargets {
  readonly #known = new Map<string, PostTarget | null>();

  /** Null for what is no URL. */
  find(postUrl: string): PostTarget | null {
    const known = this.#known.get(postUrl);
    if (known !== undefined) return known;
    if (this.#known.size >= MAX_REMEMBERED) this.#known.clear();
    const target = takeApart(postUrl);
    this.#known.set(postUrl, target);
    return target;
  }
}

/** The same URL with the checked address in place of the name, so that no second look-up takes place. */
export function urlAt(address: string, { isSecure, rest }: PostTarget): string {
  return `${isSecure ? 'https' : 'http'}://${address.includes(':') ? `[${address}]` : address}${rest}`;
}

function takeApart(postUrl: string): PostTarget | null {
  const url = URL.parse(postUrl);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return null;
  return {
    url,
    isSecure: url.protocol === 'https:',
    host: url.host,
    serverName: addressLiteralOf(url.hostname) === null ? url.hostname.replace(/\.$/, '') : null,
    rest: `:${portOf(url)}${url.pathname}${url.search}`,
  };
}
