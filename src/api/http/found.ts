import { Problem } from '../../contract/problems.ts';

/** One problem for an id of another entity, an unknown id, and one that retention has removed. */
export function missing(what: string): Problem {
  return new Problem('not_found', `There is no ${what} with this id.`);
}

export function found<Value>(value: Value | null, what: string): Value {
  if (value === null) throw missing(what);
  return value;
}
