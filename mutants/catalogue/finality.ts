import type { Mutant } from '../mutant.ts';

/** How sure a webhook wants to be, and when nodes are. */
export const finality: readonly Mutant[] = [
  {
    name: 'finalized-at-any-finality',
    what: 'registers TransferFinalized for a payment that is not final',
    file: 'domain/chain/finality-by-amount.ts',
    find: "return event !== 'TransferFinalized' || finality === 'final';",
    replace: 'return true;',
    caughtBy: { file: 'api/routes/webhooks/finality', test: 'of TransferFinalized is final, and any other is 400' },
  },
  {
    name: 'finality-stored-twice',
    what: 'stores the default finality under its name, so that equal webhooks differ',
    file: 'store/webhooks/stored-options.ts',
    find: '({ event }) => asked === null || asked === defaultFinality(event)',
    replace: '() => asked === null',
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
    find: '!isSameFinality(webhook.finality, effectiveFinality(webhook.event, finality)),',
    replace: 'false,',
    caughtBy: {
      file: 'api/routes/webhooks/finality',
      test: 'must be the same when the registration is repeated with options',
    },
  },
  {
    name: 'rule-without-its-amount',
    what: 'delivers a payment late that is exactly as large as its rule allows',
    file: 'domain/chain/finality-by-amount.ts',
    find: "amount <= (keyOf(maxAmount) ?? '')",
    replace: "amount < (keyOf(maxAmount) ?? '')",
    caughtBy: {
      file: 'domain/chain/finality-by-amount',
      test: 'the first rule that an amount does not exceed decides, exactly',
    },
  },
  {
    name: 'parts-are-small-payments',
    what: 'delivers the parts of a large sum early',
    file: 'domain/chain/finality-by-amount.ts',
    find: 'return expected !== null && expected > amount ? expected : amount;',
    replace: 'return amount;',
    caughtBy: { file: 'domain/chain/finality-by-amount', test: 'of a part of a larger sum, the larger amount counts' },
  },
  {
    name: 'every-token-is-a-dollar',
    what: 'delivers a small number of units of any token early',
    file: 'domain/chain/finality-by-amount.ts',
    find: 'amount === null || !isDollar(networkId, token)',
    replace: 'amount === null',
    caughtBy: {
      file: 'store/chain/finality-by-amount',
      test: 'delivers each payment once, at the finality of its amount',
    },
  },
  {
    name: 'rules-not-counted',
    what: 'counts only webhooks without rules among the receivers of a large event',
    file: 'store/events/filtering.ts',
    find: 'finalityFor(row.finality, ruleAmount) === finality ? row.finality : []',
    replace: 'row.finality === finality ? row.finality : []',
    caughtBy: {
      file: 'store/chain/finality-by-amount',
      test: 'counts and delivers to more webhooks than one transaction has room for',
    },
  },
  {
    name: 'levels-of-rules-forgotten',
    what: 'never looks whether a payment has reached the level of a rule',
    file: 'domain/chain/finality-by-amount.ts',
    find: '[...finality.rules.map(levelOfRule), finality.otherwise]',
    replace: '[finality.otherwise]',
    caughtBy: {
      file: 'store/chain/finality-by-amount',
      test: 'delivers each payment once, at the finality of its amount',
    },
  },
  {
    name: 'old-denials-count',
    what: 'retracts a payment that two nodes have denied at different times',
    file: 'chain/evm/follow/witnesses/votes.ts',
    find: 'const no = question.votes.no.filter((node) => isAnswered(node, question));',
    replace: 'const no = question.votes.no;',
    caughtBy: { file: 'chain/follow/witnesses', test: 'is not retracted if two nodes deny it at different times' },
  },
  {
    name: 'left-branch-keeps-anchors',
    what: 'keeps the anchors of blocks that were replaced without a payment in them',
    file: 'chain/evm/follow/look.ts',
    find: 'look: { ...look, isFork, blockTimeMs:',
    replace: 'look: { ...look, blockTimeMs:',
    caughtBy: { file: 'chain/follow/witnesses', test: 'leaves no block that could become final' },
  },
];
