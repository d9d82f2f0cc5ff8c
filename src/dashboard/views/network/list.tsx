import { paybell } from '../../api.ts';
import { LiveSwitch } from '../../components/view/live-switch.tsx';
import { Loaded } from '../../components/view/loaded.tsx';
import { Empty } from '../../components/view/states.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { useLiveResponse } from '../../live.ts';
import { Networks } from '../overview/networks.tsx';

const POLL_MS = 5_000;

/** The networks that the server follows, each with a link to its page. */
export function NetworkList() {
  const response = useLiveResponse('chains', (signal) => paybell().chains.list({ signal }), POLL_MS);
  return (
    <>
      <ViewHead title="Networks" description="The networks from which Paybell reads payments, and how far it has read.">
        <LiveSwitch />
      </ViewHead>
      <Loaded response={response} what="networks">
        {(list) =>
          list.chains.length === 0 ? (
            <Empty icon="networks" title="Paybell follows no network">
              <p>
                The operator names nodes in the setting <code>CHAIN_RPC</code>, or sets it to <code>practice</code> to
                try payments without a node.
              </p>
            </Empty>
          ) : (
            <Networks list={list} problem={null} title="Followed by this server" />
          )
        }
      </Loaded>
    </>
  );
}
