"""What tests share: servers on loopback, vendor pages, small releases."""
