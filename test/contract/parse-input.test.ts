import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { z } from 'zod';
import { exactText, oneOf, pagingFields, wholeNumber } from '../../src/contract/list-query.ts';
import { nearest, parseBody, parseQuery } from '../../src/contract/parse-input.ts';
import { MAX_INPUT_ERRORS_SHOWN } from '../../src/contract/problems.ts';

const schema = z.strictObject({
  name: exactText({ description: 'A text.' }),
  amount: wholeNumber(0, 1_000, { description: 'A number.' }),
  kind: oneOf(['Big', 'Small'], { description: 'A choice.' }),
  ...pagingFields(['date', 'name']),
});

const defaults = { page: 1, limit: 25, sortBy: 'date', sortDir: 'desc' };

function errorsOf(search: string): Record<string, string> {
  const result = parseQuery(schema, search);
  return result.ok ? {} : Object.fromEntries(result.errors.map(({ name, message }) => [name, message]));
}

describe('a query', () => {
  test('that is empty has every default', () => {
    expect(parseQuery(schema, '')).toEqual({ ok: true, value: defaults as never });
  });

  test('is decoded once, with + as a space and & apart from its encoding', () => {
    const result = parseQuery(schema, 'name=a+b%26c%2525&&amount=7');
    expect(result).toEqual({ ok: true, value: { ...defaults, name: 'a b&c%25', amount: 7 } as never });
  });

  test('with any text as a value comes back exactly, unless the text is empty or has a NUL', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (name) => {
        fc.pre(!name.includes('\0'));
        expect(parseQuery(schema, new URLSearchParams({ name }).toString())).toMatchObject({ value: { name } });
      }),
    );
  });

  test('with any garbage is refused or read, and never throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (search) => {
        const result = parseQuery(schema, search);
        if (!result.ok) expect(result.errors.length).toBeGreaterThan(0);
      }),
    );
  });

  const numbers = [
    '',
    '-1',
    '+5',
    ' 5',
    '5 ',
    '2.5',
    '1e2',
    '0x10',
    'Infinity',
    'NaN',
    '٣',
    '5\n',
    '1001',
    '1'.repeat(17),
  ];
  test.each(numbers)('with the number %j is refused', (text) => {
    expect(errorsOf(`amount=${encodeURIComponent(text)}`).amount).toContain('whole number from 0 to 1000');
  });

  test.each([
    ['0', 0],
    ['007', 7],
    ['1000', 1000],
  ])('with the number %j is read', (text, amount) => {
    expect(parseQuery(schema, `amount=${text}`)).toMatchObject({ value: { amount } });
  });

  test.each(['big', 'BIG', 'Big ', '', 'Medium'])('with the choice %j is refused, naming the choices', (text) => {
    expect(errorsOf(`kind=${encodeURIComponent(text)}`).kind).toContain('one of Big, Small');
  });

  test.each(['name=', 'name', 'name=a%00b'])('with %j is refused: a text has a character and no NUL', (search) => {
    expect(errorsOf(search).name).toContain('NUL');
  });

  test.each(['name=%', 'name=%zz', 'name=%ff', 'name=%C3'])('with %j is refused: not UTF-8', (search) => {
    expect(errorsOf(search)).toEqual({ name: 'is not valid percent-encoded UTF-8' });
  });

  test('with a parameter given twice is refused, also when both are equal or written in two ways', () => {
    expect(errorsOf('page=2&page=2').page).toContain('more than once');
    expect(errorsOf('page=2&p%61ge=3').page).toContain('more than once');
  });

  test('reports every error at once, each input once', () => {
    const errors = errorsOf('limit=101&page=0&sortdir=asc&kind=Nope&kind=Nope&%ff=1');
    expect(Object.keys(errors).sort()).toEqual(['%ff=1', 'kind', 'limit', 'page', 'sortdir']);
    expect(errors.sortdir).toContain('did you mean sortDir?');
  });

  test('with an unknown parameter far from any name is told all the known ones', () => {
    expect(errorsOf('colour=red').colour).toContain(
      'known parameters are name, amount, kind, page, limit, sortBy, sortDir',
    );
  });

  test('with a name that every object has is refused like any unknown one', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(errorsOf(`${name}=1`)[name] ?? Object.entries(errorsOf(`${name}=1`))).toBeTruthy();
      expect(parseQuery(schema, `${name}=1`).ok).toBe(false);
    }
  });

  test('with an endless unknown name echoes only its beginning', () => {
    const [name = ''] = Object.keys(errorsOf(`${'x'.repeat(5_000)}=1`));
    expect(name.length).toBeLessThan(100);
  });
});

describe('a body', () => {
  const bodySchema = z.strictObject({ postUrl: z.string(), events: z.array(z.string()).optional() });

  test('that fits is read', () => {
    expect(parseBody(bodySchema, { postUrl: 'x' })).toEqual({ ok: true, value: { postUrl: 'x' } });
  });

  test('with an unknown field is refused, with the nearest known name as a hint', () => {
    const result = parseBody(bodySchema, { posturl: 'x', colour: 1 });
    expect(result.ok ? [] : result.errors.map(({ name, message }) => [name, message.split(';')[1]])).toEqual([
      ['postUrl', undefined],
      ['posturl', ' did you mean postUrl?'],
      ['colour', ' known fields are postUrl, events'],
    ] as never);
  });

  test('without a field that it must have is told so, with the rule of the field', () => {
    const rule = (message: string) => ({ error: message });
    const ruled = z.strictObject({
      networkId: z.int(rule('must be a number')),
      terms: z.strictObject({ amount: z.string(rule('must be a text')), note: z.string(rule('needs an amount')) }),
    });
    const errorsIn = (body: unknown) => {
      const result = parseBody(ruled, body);
      return result.ok ? {} : Object.fromEntries(result.errors.map(({ name, message }) => [name, message]));
    };
    expect(errorsIn({ terms: {} })).toEqual({
      networkId: 'is required; it must be a number',
      'terms.amount': 'is required; it must be a text',
      'terms.note': 'needs an amount',
    });
    expect(errorsIn({ networkId: null, terms: { amount: 1, note: 'x' } })).toEqual({
      networkId: 'must be a number',
      'terms.amount': 'must be a text',
    });
  });

  test('names an invalid item of an array by its position', () => {
    const result = parseBody(bodySchema, { postUrl: 'x', events: ['a', 1] });
    expect(result.ok ? [] : result.errors.map(({ name }) => name)).toEqual(['events.1']);
  });
});

test('errors beyond those that are shown get no suggestion, since finding one would block the event loop', () => {
  const names = Array.from(
    { length: MAX_INPUT_ERRORS_SHOWN + 5 },
    (_, index) => `amoun${String.fromCharCode(0x100 + index)}`,
  );
  const ofQuery = parseQuery(schema, names.map(encodeURIComponent).join('&'));
  const ofBody = parseBody(schema, Object.fromEntries(names.map((name) => [name, 0])));
  for (const parsed of [ofQuery, ofBody]) {
    const unknown = parsed.ok ? [] : parsed.errors.filter(({ name }) => names.includes(name));
    const hinted = unknown.filter(({ message }) => message.endsWith('did you mean amount?'));
    expect([unknown.length, hinted.length]).toEqual([MAX_INPUT_ERRORS_SHOWN + 5, MAX_INPUT_ERRORS_SHOWN]);
  }
});

describe('the nearest known name', () => {
  const known = ['page', 'limit', 'sortBy', 'sortDir'];

  test.each([
    ['sortby', 'sortBy'],
    ['SORTBY', 'sortBy'],
    ['pge', 'page'],
    ['limits', 'limit'],
    ['sortdri', 'sortDir'],
  ])('to %j is %j', (given, expected) => {
    expect(nearest(given, known)).toBe(expected);
  });

  test.each(['colour', '', 'pages-per-limit', 'x'.repeat(10_000)])('to %j is none', (given) => {
    expect(nearest(given, known)).toBeNull();
  });

  test('is one within the edits, whatever the names', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 7 });
    fc.assert(
      fc.property(text, text, fc.integer({ min: 0, max: 3 }), (name, candidate, maxEdits) => {
        const isNear = edits(name, candidate) <= maxEdits;
        expect(nearest(name, [candidate], maxEdits)).toBe(isNear ? candidate : null);
      }),
    );
  });
});

/** As it is defined: without a table, and without giving up early. */
function edits(a: string, b: string): number {
  if (a === '' || b === '') return a.length + b.length;
  const replaced = edits(a.slice(1), b.slice(1)) + (a[0] === b[0] ? 0 : 1);
  const isSwapped = a.length > 1 && a[0] === b[1] && a[1] === b[0];
  const swapped = isSwapped ? edits(a.slice(2), b.slice(2)) + 1 : Number.POSITIVE_INFINITY;
  return Math.min(replaced, swapped, edits(a.slice(1), b) + 1, edits(a, b.slice(1)) + 1);
}
