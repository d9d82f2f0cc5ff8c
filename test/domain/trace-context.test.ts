import { describe, expect, test } from 'bun:test';
import { addTraceHeaders, partsOfTrace, readTraceContext, traceContextOf } from '../../src/domain/trace-context.ts';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN_ID = '00f067aa0ba902b7';
const PARENT = `00-${TRACE_ID}-${SPAN_ID}-01`;
const LONG_MEMBER = `long=${'x'.repeat(200)}`;

describe('a traceparent', () => {
  test.each([
    [PARENT, PARENT],
    [`00-${TRACE_ID}-${SPAN_ID}-00`, `00-${TRACE_ID}-${SPAN_ID}-00`],
    // Of the flags that no version has so far, none is passed on.
    [`00-${TRACE_ID}-${SPAN_ID}-ff`, `00-${TRACE_ID}-${SPAN_ID}-03`],
    // A later version begins with the fields of this one.
    [`01-${TRACE_ID}-${SPAN_ID}-01`, PARENT],
    [`cc-${TRACE_ID}-${SPAN_ID}-01-what-the-future-adds`, PARENT],
  ])('is read from %s', (given, read) => {
    expect(readTraceContext(given, null)).toBe(read);
  });

  test.each([
    ['empty', ''],
    ['no trace at all', 'hello'],
    ['with upper case digits', PARENT.toUpperCase()],
    ['with a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN_ID}-01`],
    ['with a parent id of zeros', `00-${TRACE_ID}-${'0'.repeat(16)}-01`],
    ['of the version that does not exist', `ff-${TRACE_ID}-${SPAN_ID}-01`],
    ['longer than its version', `${PARENT}-00`],
    ['of a later version with something right behind the flags', `01-${TRACE_ID}-${SPAN_ID}-01.00`],
    ['too short', PARENT.slice(0, -1)],
    ['sent twice', `${PARENT}, ${PARENT}`],
    ['with spaces in it', ` ${PARENT}`],
  ])('is ignored when it is %s, and its tracestate with it', (_what, given) => {
    expect(readTraceContext(given, 'a=1')).toBeNull();
  });
});

describe('a tracestate', () => {
  test.each([
    ['congo=t61rcWkgMzE,rojo=00f067aa0ba902b7', 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7'],
    ['a=1 ,\t, fw529a3039@dt=FfD/ ', 'a=1,fw529a3039@dt=FfD/'],
    ['a=b c', 'a=b c'],
  ])('is passed on: %s', (given, state) => {
    expect(readTraceContext(PARENT, given)).toBe(`${PARENT} ${state}`);
  });

  test.each([
    ['has a member without a value', 'a=1,b'],
    ['has an upper case key', 'A=1'],
    ['has a key twice', 'a=1,a=2'],
    ['has an equals sign in a value', 'a=1=2'],
    ['has 33 members', Array.from({ length: 33 }, (_, index) => `k${index}=1`).join(',')],
    ['is empty', ' , '],
  ])('is left out when it %s, and the traceparent is kept', (_what, given) => {
    expect(readTraceContext(PARENT, given)).toBe(PARENT);
  });

  test('of more than 512 characters loses its long members first, and then the last ones', () => {
    const short = Array.from({ length: 30 }, (_, index) => `key${index}=${'v'.repeat(20)}`);
    const state = readTraceContext(PARENT, [LONG_MEMBER, ...short].join(','))?.slice(PARENT.length + 1) ?? '';
    expect(state.length).toBeLessThanOrEqual(512);
    expect(state.split(',')).toEqual(short.slice(0, state.split(',').length));
    expect(readTraceContext(PARENT, [LONG_MEMBER, 'a=1'].join(','))).toBe(`${PARENT} ${LONG_MEMBER},a=1`);
  });
});

test('a stored trace is taken apart, put together, and sent as two headers', () => {
  const context = `${PARENT} a=1,b=2`;
  const parts = { traceId: TRACE_ID, spanId: SPAN_ID, flags: 1, state: 'a=1,b=2' };
  expect(partsOfTrace(context)).toEqual(parts);
  expect(traceContextOf(parts)).toBe(context);
  expect(traceContextOf({ ...parts, flags: 0, state: '' })).toBe(`00-${TRACE_ID}-${SPAN_ID}-00`);
  const headers: Record<string, string> = {};
  addTraceHeaders(headers, context);
  expect(headers).toEqual({ traceparent: PARENT, tracestate: 'a=1,b=2' });
});
