// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// What every token of the tests does: it mints for anyone, and announces each payment as ERC-20 says.
abstract contract Payments {
    event Transfer(address indexed from, address indexed to, uint256 value);

    mapping(address => uint256) public balanceOf;

    function mint(address to, uint256 value) external {
        // Unchecked, so that a payment of 2^256 - 1 can be made more than once.
        unchecked {
            balanceOf[to] += value;
        }
        emit Transfer(address(0), to, value);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        _move(msg.sender, to, value);
        return true;
    }

    /// Payments of value, value + 1, value + 2 and so on to one payee, for tests that need thousands.
    function transferMany(address to, uint256 value, uint256 count) external {
        for (uint256 i = 0; i < count; i++) {
            _move(msg.sender, to, value + i);
        }
    }

    function _move(address from, address to, uint256 value) private {
        require(balanceOf[from] >= value, "balance too low");
        unchecked {
            balanceOf[from] -= value;
            balanceOf[to] += value;
        }
        emit Transfer(from, to, value);
    }
}

contract Token is Payments {
    uint8 public immutable decimals;

    constructor(uint8 decimals_) {
        decimals = decimals_;
    }
}

contract TokenWithoutDecimals is Payments {}

contract TokenWithFailingDecimals is Payments {
    function decimals() external pure returns (uint8) {
        revert("no decimals");
    }
}
