// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Passes the coin on inside of a call, as smart wallets do.
contract Forwarder {
    function forward(address payable to) external payable {
        (bool isPaid, ) = to.call{value: msg.value}("");
        require(isPaid, "not paid");
    }

    function refuse() external payable {
        revert("no");
    }
}
