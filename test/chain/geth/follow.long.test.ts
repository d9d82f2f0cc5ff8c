import { describe, expect, test } from 'bun:test';
import { ChainService } from '../../support/chain/chain-service.ts';
import { GETH_CHAIN_ID } from '../../support/chain/geth-node.ts';
import { GethPair } from '../../support/chain/geth-pair.ts';
import { blockAt } from '../../support/chain/json-rpc.ts';
import { GETH, needs, settingOf } from '../../support/requirements.ts';
import { ENGINES } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

const title = 'after a true fork of depth 3, the moved payment stands, the dropped one is retracted, its rival is told';

describe.each([...ENGINES])('a service that follows geth on %s', (engine) => {
  test.skipIf(!GETH.isMet)(
    `${title} ${needs(GETH)}`,
    async () => {
      await using pair = await GethPair.start(settingOf(GETH) ?? '');
      const token = await pair.deploy('Token', 'uint8', [6]);
      await pair.mine(4);
      await pair.setTags(2, 4);
      await using service = await ChainService.start(engine, GETH_CHAIN_ID, [pair.a.url]);
      const { inbox } = service;
      await service.webhook('processed', 'TransferProcessed');
      await service.webhook('finalized', 'TransferFinalized');
      const payee = pair.account(7);
      await service.source({ preset: 'erc20', contract: token.address, where: { to: [payee] } });
      const payment = (value: number) => token.call('mint(address,uint256)', [payee, value]);
      const followed = async () => service.followedTo((await blockAt(pair.a.rpc, 'latest'))?.number ?? 0);

      const [moved, dropped] = [await pair.sign(1, payment(11)), await pair.sign(2, payment(22))];
      await pair.mine(3, [moved.raw, dropped.raw]);
      await until('both payments were told', () => inbox.at('processed').length === 2);
      const rival = await pair.sign(2, payment(33), 0);
      await pair.fork(3, [[], [rival.raw], [moved.raw], []]);
      await followed();
      for (let block = 0; block < 4; block++) {
        await pair.mine();
        await followed();
      }
      // A node alone has to call a block final at two heads.
      for (let block = 0; block < 2; block++) {
        await pair.mine();
        await pair.setTags(1, 1);
        const head = (await blockAt(pair.a.rpc, 'latest'))?.number ?? 0;
        await until('the node has said what is final', async () => (await service.finalizedBy(1)) === head - 1);
      }
      await until('two payments are final', () => inbox.at('finalized').length >= 2);
      await service.delivered();

      const told = (path: string) => inbox.at(path).map(({ event, body }) => `${event} of ${nameOf(body)}`);
      const nameOf = ({ transactionHash }: Readonly<Record<string, unknown>>) =>
        Object.entries({ moved, dropped, rival }).find(([, { hash }]) => hash === transactionHash)?.[0];
      expect(told('processed').sort()).toEqual([
        'EventRetracted of dropped',
        'TransferProcessed of dropped',
        'TransferProcessed of moved',
        'TransferProcessed of rival',
      ]);
      expect(told('finalized').sort()).toEqual(['TransferFinalized of moved', 'TransferFinalized of rival']);
    },
    120_000,
  );
});
