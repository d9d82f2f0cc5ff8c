import { MAX_LIMIT } from '../../../../contract/list-query.ts';
import { paybell } from '../../../api.ts';
import { useObservable } from '../../../observable.ts';
import { missingPermissions } from '../../../session.ts';
import { useResponse } from '../../../use-response.ts';

export type KeyNames = ReadonlyMap<string, string>;

const NO_NAMES: KeyNames = new Map();

/** The names of the newest keys by their ID. Empty without the permission to read keys. */
export function useKeyNames(): KeyNames {
  const allowed = !useObservable(missingPermissions).has('keys:read');
  const { data } = useResponse(`names of keys ${allowed}`, async (signal): Promise<KeyNames> => {
    if (!allowed) return NO_NAMES;
    const { keys } = await paybell().keys.list({ limit: MAX_LIMIT }, { signal });
    return new Map(keys.map(({ keyId, name }) => [keyId, name]));
  });
  return data ?? NO_NAMES;
}
