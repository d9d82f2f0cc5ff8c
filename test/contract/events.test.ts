import { describe, expect, test } from 'bun:test';
import type { z } from 'zod';
import { postedEventSchema, retractionSchema } from '../../src/contract/events.ts';
import { parseBody } from '../../src/contract/parse-input.ts';
import { EVENT_KINDS } from '../../src/domain/event-kinds.ts';

const schema = postedEventSchema(EVENT_KINDS);
const retraction = { event: 'EventRetracted', networkId: 8453 };

function errorsOf(body: unknown, by: z.ZodType = schema): Record<string, string> {
  const parsed = parseBody(by, body);
  return parsed.ok ? {} : Object.fromEntries(parsed.errors.map(({ name, message }) => [name, message]));
}

describe('a retraction that is posted', () => {
  test('names the event that it takes back, and may say more about it', () => {
    for (const retracts of [{ eventId: 'evt_1' }, { eventId: 'a'.repeat(128), event: 'TransferProcessed' }]) {
      const parsed = parseBody(retractionSchema, { ...retraction, retracts });
      expect(parsed).toMatchObject({ ok: true, value: { ...retraction, retracts } });
    }
  });

  const unusable = [undefined, null, 'evt_1', [], ['evt_1'], {}, { eventId: '' }, { eventId: 7 }, { id: 'evt_1' }];
  test('is refused with the form that it needs', () => {
    for (const retracts of [...unusable, { eventId: 'a'.repeat(129) }]) {
      expect(errorsOf({ ...retraction, retracts }, retractionSchema)).toEqual({
        retracts:
          'of EventRetracted must be an object with the eventId of the event to retract, ' +
          'such as {"eventId": "transfer-8412-processed"}',
      });
    }
  });

  test('is told everything that is wrong with it at once', () => {
    const errors = errorsOf({ event: 'EventRetracted', networkId: -1, eventId: '' }, retractionSchema);
    expect(Object.keys(errors).sort()).toEqual(['eventId', 'networkId', 'retracts']);
  });

  test('is the only kind whose field retracts is read', () => {
    for (const retracts of [undefined, null, 'all', 7, {}, { eventId: 'evt_1' }]) {
      expect(errorsOf({ event: 'TransferCreated', networkId: 1, retracts })).toEqual({});
    }
  });
});

test('a body that is no object has one error, and it is not about retractions', () => {
  for (const body of [null, 'EventRetracted', 7, []]) {
    expect(errorsOf(body)).toEqual({ '': 'the body must be a JSON object' });
  }
});

test('a kind that does not exist is answered with those that do, the retraction among them', () => {
  expect(errorsOf({ event: 'eventretracted', networkId: 1 }).event).toBe(
    `must be one of ${EVENT_KINDS.join(', ')}, EventRetracted (names are case-sensitive)`,
  );
});
