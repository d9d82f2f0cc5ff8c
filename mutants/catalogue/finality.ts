import type { Mutant } from '../mutant.ts';

/** How sure a webhook wants to be, and when nodes are. */
export const finality: readonly Mutant[] = [
  {
    name: 'finalized-at-any-finality',
    what: 'registers TransferFinalized for a payment that is not final',
    file: 'domain/chain/finality.ts',
    find: "return event !== 'TransferFinalized' || finality === 'final';",
    replace: 'return true;',
    caughtBy: { file: 'api/routes/webhooks/finality', test: 'of TransferFinalized is final, and any other is 400' },
  },
  {
    name: 'finality-stored-twice',
    what: 'stores the default finality under its name, so that equal webhooks differ',
    file: 'store/webhooks/stored-options.ts',
    find: 'return asked === null || asked === defaultFinality(event) ? null : finalityText(asked);',
    replace: 'return asked === null ? null : finalityText(asked);',
    caughtBy: { file: 'api/routes/webhooks/finality', test: 'is stored in one way only' },
  },
  {
    name: 'finality-drops-filter',
    what: 'removes the filters of all webhooks whose finality is changed in bulk',
    file: 'store/webhooks/change.ts',
    find: 'const filtering = filter === undefined ? [] :',
    replace: 'const filtering =',
    caughtBy: { file: 'api/routes/webhooks/finality', test: 'changes in bulk without the filter' },
  },
  {
    name: 'other-finality-accepted',
    what: 'accepts a repeated registration with a finality that is not in force',
    file: 'store/webhooks/register.ts',
    find: '!isSameFilter(webhook.filter, filter) || webhook.finality !== effectiveFinality(webhook.event, finality),',
    replace: '!isSameFilter(webhook.filter, filter),',
    caughtBy: {
      file: 'api/routes/webhooks/finality',
      test: 'must be the same when the registration is repeated with options',
    },
  },
  {
    name: 'old-denials-count',
    what: 'retracts a payment that two nodes have denied at different times',
    file: 'chain/follow/witnesses/votes.ts',
    find: 'const no = question.votes.no.filter((node) => isAnswered(node, question));',
    replace: 'const no = question.votes.no;',
    caughtBy: { file: 'chain/follow/witnesses', test: 'is not retracted if two nodes deny it at different times' },
  },
];
