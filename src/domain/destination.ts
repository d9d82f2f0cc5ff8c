import { portOf, withoutTrailingDot } from './post-url.ts';

declare const brand: unique symbol;

/**
 * `<entityId> <scheme>://<host>:<port>`: the unit of caps, round-robin and back-off. It begins with the entity, so that
 * two tenants that send to one receiver never share a limit.
 */
export type DestinationKey = string & { readonly [brand]: 'DestinationKey' };

export function destinationKey(entityId: string, postUrl: string): DestinationKey {
  return `${entityKeyPrefix(entityId)}${destinationOf(postUrl)}` as DestinationKey;
}

/** What the keys of an entity begin with; sorts directly before the first of them. */
export function entityKeyPrefix(entityId: string): string {
  return `${entityId} `;
}

/** Also takes a bare prefix, which names the entity alone. */
export function entityOfDestination(key: string): string {
  return key.slice(0, key.indexOf(' '));
}

/** `scheme://host:port` of a valid postUrl, the same for all spellings of one receiver. */
export function destinationOf(postUrl: string): string {
  const url = URL.parse(postUrl);
  // No such URL is stored. If one were, it must not stop the deliveries of others.
  if (url === null) return 'invalid:';
  return `${url.protocol}//${withoutTrailingDot(url.hostname)}:${portOf(url)}`;
}
