// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// As many logs in one transaction as are asked for: the worst neighbour of a network.
contract Flooder {
    event Transfer(address indexed from, address indexed to, uint256 value);

    function flood(address to, uint256 count) external {
        for (uint256 i = 0; i < count; i++) {
            emit Transfer(msg.sender, to, i);
        }
    }
}
