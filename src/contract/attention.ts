import { z } from 'zod';
import { exactText, pagingFields } from './list-query.ts';
import { count } from './values.ts';

/** The entities that an operator should look at. */

const exampleAttention = {
  entityId: 'ent_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
  name: 'Acme',
  level: 'urgent',
  failingEndpoints: 2,
  suspendedEndpoints: 0,
  pausedEndpoints: 1,
  pausedSources: 0,
  waiting: 7092,
  dateOldestDue: 1763168400,
  eventsLastHour: 1204,
  failuresLastHour: 388,
};

export const entityAttentionSchema = z
  .strictObject({
    entityId: z.string().meta({ description: 'Unique identifier of the entity.' }),
    name: z.string().meta({ description: 'Name of the entity, for people.' }),
    level: z.enum(['urgent', 'warning', 'none']).meta({
      description:
        '`urgent` if an endpoint is failing or suspended, or a delivery is overdue by more than a minute; `warning` if a ' +
        'paused endpoint holds deliveries or a source is paused; `none` otherwise.',
    }),
    failingEndpoints: count.meta({ description: 'Number of endpoints in the state `failing`.' }),
    suspendedEndpoints: count.meta({ description: 'Number of endpoints in the state `suspended`.' }),
    pausedEndpoints: count.meta({ description: 'Number of endpoints in the state `paused` that hold deliveries.' }),
    pausedSources: count.meta({ description: 'Number of sources that are paused.' }),
    waiting: count.meta({ description: 'Number of deliveries that wait to be sent.' }),
    dateOldestDue: z.int().nullable().meta({
      description:
        'When the first delivery that is overdue by more than a minute was due, in Unix seconds; null if none is.',
    }),
    eventsLastHour: count.meta({ description: 'Number of events accepted in the last hour.' }),
    failuresLastHour: count.meta({ description: 'Number of attempts that failed in the last hour.' }),
  })
  .meta({
    id: 'EntityAttention',
    description: 'The troubles, backlog and traffic of an entity.',
    example: exampleAttention,
  });

export type EntityAttention = z.output<typeof entityAttentionSchema>;

export const attentionListSchema = z
  .strictObject({
    totalResults: count.meta({ description: 'Number of all matching entities, on all pages.' }),
    needAttention: count.meta({ description: 'Number of matching entities whose level is not `none`.' }),
    entities: z.array(entityAttentionSchema),
  })
  .meta({ id: 'AttentionList', example: { totalResults: 1, needAttention: 1, entities: [exampleAttention] } });

export type AttentionList = z.output<typeof attentionListSchema>;

export const attentionQuerySchema = z.strictObject({
  search: exactText({
    description: 'Only the entity with this id, and entities whose name contains this text. Case does not matter.',
    example: 'acme',
  }),
  ...pagingFields(['urgency']),
});

export type AttentionQuery = z.output<typeof attentionQuerySchema>;
