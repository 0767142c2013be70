System.out.print(greeting())
