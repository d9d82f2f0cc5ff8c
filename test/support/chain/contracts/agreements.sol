// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// The logs of the presets, without the money behind them: who may pay whom is no question of these tests.

contract Loop {
    event TransferProcessed(
        address indexed caller,
        string id,
        bool success,
        bool inbound,
        address token,
        address endUser,
        uint256 amount,
        uint256 processingFee,
        bytes err
    );

    function process(string calldata id, bool success, address token, address endUser, uint256 amount) external {
        emit TransferProcessed(msg.sender, id, success, true, token, endUser, amount, amount / 100, success ? bytes("") : bytes("declined"));
    }
}

contract FeeProxy {
    event TransferWithReferenceAndFee(
        address tokenAddress,
        address to,
        uint256 amount,
        bytes indexed paymentReference,
        uint256 feeAmount,
        address feeAddress
    );

    function pay(address token, address to, uint256 amount, bytes calldata paymentReference, uint256 fee, address feeTo) external {
        emit TransferWithReferenceAndFee(token, to, amount, paymentReference, fee, feeTo);
    }
}
