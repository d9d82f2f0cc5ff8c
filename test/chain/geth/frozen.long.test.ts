import { describe, expect, test } from 'bun:test';
import type { ChainList } from '../../../src/contract/chain/chains.ts';
import { ChainService } from '../../support/chain/chain-service.ts';
import { GETH_CHAIN_ID } from '../../support/chain/geth-node.ts';
import { GethPair } from '../../support/chain/geth-pair.ts';
import { GETH, needs, settingOf } from '../../support/requirements.ts';
import { ENGINES } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

const BLOCKS = 12;
/** Paybell waits three seconds for an answer. Only a poll that never ends takes so long. */
const SWITCH_LIMIT_MS = 60_000;

describe.each([...ENGINES])('a service that follows two geth nodes on %s', (engine) => {
  test.skipIf(!GETH.isMet)(
    `leaves the first one when it hangs (SIGSTOP), and has every payment once ${needs(GETH)}`,
    async () => {
      await using pair = await GethPair.start(settingOf(GETH) ?? '');
      const token = await pair.deploy('Token', 'uint8', [6]);
      await pair.mine(8);
      await pair.share();
      const setTags = async (isShared: boolean) => {
        if (isShared) await pair.setTags(2, 4);
        await pair.setTags(2, 4, pair.b);
      };
      await setTags(true);
      await using service = await ChainService.start(engine, GETH_CHAIN_ID, [pair.a.url, pair.b.url]);
      const { inbox } = service;
      await service.webhook('processed', 'TransferProcessed');
      await service.webhook('finalized', 'TransferFinalized');
      const payee = pair.account(7);
      await service.source({ preset: 'erc20', contract: token.address, where: { to: [payee] } });
      const hashes: string[] = [];
      const sign = async () => {
        const { raw, hash } = await pair.sign(1, token.call('mint(address,uint256)', [payee, 1 + hashes.length]));
        hashes.push(hash);
        return raw;
      };
      const pay = async (isShared: boolean) => {
        await pair.mineOnB([await sign()], isShared);
        await setTags(isShared);
      };
      const told = (path: string) => inbox.at(path).map(({ body }) => body.transactionHash);
      const arrived = () => until('every payment has arrived', () => told('processed').length >= hashes.length);
      for (let block = 0; block < BLOCKS; block++) await pay(true);
      await arrived();
      // Only the first node has these blocks, so that it leads.
      for (let block = 0; block < 3; block++) await pair.mine(1, [await sign()]);
      await arrived();
      await pair.share();
      await setTags(true);

      pair.a.freeze();
      const startedMs = performance.now();
      await pay(false);
      await arrived();
      const switchedMs = performance.now() - startedMs;
      for (let block = 0; block < BLOCKS; block++) await pay(false);
      await arrived();
      const { chains } = await service.call<ChainList>('GET', '/chains');
      expect(chains[0]?.nodes[0]?.state).not.toBe('ok');
      pair.a.thaw();
      await pair.catchUp();
      for (let block = 0; block < BLOCKS; block++) await pay(true);
      await arrived();
      for (let block = 0; block < 6; block++) {
        await pair.mineOnB([], true);
        await setTags(true);
      }
      await until('every payment is final', () => told('finalized').length >= hashes.length, 120_000);
      await service.delivered();
      expect(told('processed').sort()).toEqual([...hashes].sort());
      expect(told('finalized').sort()).toEqual([...hashes].sort());
      expect(switchedMs).toBeLessThan(SWITCH_LIMIT_MS);
    },
    300_000,
  );
});
